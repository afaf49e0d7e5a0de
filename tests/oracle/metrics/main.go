// Command metrics queries the custom and the external metrics API with the clients that the HorizontalPodAutoscaler
// controller and other Go programs use. It reads a question per line and writes an answer per line, both as JSON.
//
//	metrics KUBECONFIG CONTENT-TYPE <questions >answers
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: metrics KUBECONFIG CONTENT-TYPE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig, contentType string) error {
	all, err := newClients(kubeconfig, contentType)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return err
		}
		if err := out.Encode(all.ask(q)); err != nil {
			return err
		}
	}
	return lines.Err()
}
