// Command yaml says what Kubernetes' own code makes of YAML files: as kubectl does, it cuts them into documents and turns
// each into JSON, as the API server does too. It reads and writes lines {"yaml": …, "documents": [JSON, …]}; documents
// that say nothing are left out, and documents is null where one is refused.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

type line struct {
	YAML      string            `json:"yaml"`
	Documents []json.RawMessage `json:"documents"`
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
		l.Documents = documents(l.YAML)
		if err := out.Encode(l); err != nil {
			log.Fatal(err)
		}
	}
	if err := in.Err(); err != nil {
		log.Fatal(err)
	}
}

// documents is nil where one is refused.
func documents(text string) []json.RawMessage {
	// With a comment above, a text that begins like JSON is read as YAML all the same.
	reader := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader("#\n" + text)))
	read := []json.RawMessage{}
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return read
		}
		if err != nil {
			return nil
		}
		// Not yaml.ToJSON, which takes what begins like JSON for it.
		asJSON, err := sigsyaml.YAMLToJSON(document)
		if err != nil {
			return nil
		}
		if !bytes.Equal(asJSON, []byte("null")) {
			read = append(read, asJSON)
		}
	}
}
