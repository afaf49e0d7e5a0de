// Command yaml shows how Kubernetes' own code parses YAML files. Like kubectl, it splits them into documents and
// converts each one to JSON, as the API server also does. It reads and writes lines {"yaml": …, "documents": [JSON,
// …]}. Empty documents are omitted, and documents is null if one is refused.
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

// documents returns nil if a document is refused.
func documents(text string) []json.RawMessage {
	// The comment line makes the reader treat text that begins like JSON as YAML.
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
		// yaml.ToJSON would treat a document that begins like JSON as JSON.
		asJSON, err := sigsyaml.YAMLToJSON(document)
		if err != nil {
			return nil
		}
		if !bytes.Equal(asJSON, []byte("null")) {
			read = append(read, asJSON)
		}
	}
}
