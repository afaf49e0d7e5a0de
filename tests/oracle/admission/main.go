// Command admission reads a HorizontalPodAutoscaler per line from standard input and writes what kube-apiserver would
// answer to its creation under fieldValidation=Strict. It uses the same packages in the order of the apiserver's create
// handler, without a cluster.
//
// With the argument "quantity" it reads quantities instead. In both modes it reads a line of JSON and writes a line.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

func main() {
	answer := admit
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "quantity" {
		answer, args = quantity, args[1:]
	}
	if err := run(answer, args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run takes feature gates ("HPAScaleToZero=true") as arguments.
func run(answer func([]byte) (any, error), gates []string) error {
	for _, gate := range gates {
		if err := utilfeature.DefaultMutableFeatureGate.Set(gate); err != nil {
			return err
		}
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for lines.Scan() {
		reply, err := answer(lines.Bytes())
		if err != nil {
			return err
		}
		if err := encoder.Encode(reply); err != nil {
			return err
		}
	}
	return lines.Err()
}
