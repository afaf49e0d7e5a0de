// Command selector reads selectors from standard input and writes how Go parses each one: its error, or its canonical
// form and which of the given labels match. It reads and writes a line of JSON each.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/labels"
)

type question struct {
	Selector string              `json:"selector"`
	Labels   []map[string]string `json:"labels"`
}

type answer struct {
	Error        string   `json:"error,omitempty"`
	Requirements []string `json:"requirements,omitempty"`
	Matches      []bool   `json:"matches,omitempty"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for lines.Scan() {
		var question question
		if err := json.Unmarshal(lines.Bytes(), &question); err != nil {
			return err
		}
		if err := encoder.Encode(judge(question)); err != nil {
			return err
		}
	}
	return lines.Err()
}

func judge(question question) answer {
	selector, err := labels.Parse(question.Selector)
	if err != nil {
		return answer{Error: err.Error()}
	}
	var answer answer
	requirements, _ := selector.Requirements()
	for i := range requirements {
		answer.Requirements = append(answer.Requirements, requirements[i].String())
	}
	for _, set := range question.Labels {
		answer.Matches = append(answer.Matches, selector.Matches(labels.Set(set)))
	}
	return answer
}
