// Command yaml says what Kubernetes' own code makes of YAML documents: as the API server and kubectl do before
// anything else, it turns them into JSON. It reads and writes lines {"yaml": …, "json": …}; json is null where the
// document is refused.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"

	"k8s.io/apimachinery/pkg/util/yaml"
)

type line struct {
	YAML string          `json:"yaml"`
	JSON json.RawMessage `json:"json"`
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for in.Scan() {
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			log.Fatal(err)
		}
		l.JSON = nil
		// With a comment above, a text that begins like JSON is read as YAML all the same.
		if read, err := yaml.ToJSON([]byte("#\n" + l.YAML)); err == nil {
			l.JSON = read
		}
		if err := out.Encode(l); err != nil {
			log.Fatal(err)
		}
	}
	if err := in.Err(); err != nil {
		log.Fatal(err)
	}
}
