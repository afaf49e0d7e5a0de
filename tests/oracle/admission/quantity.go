package main

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/resource"
)

type quantityAnswer struct {
	Text      string `json:"text"`
	Error     string `json:"error,omitempty"`
	Canonical string `json:"canonical,omitempty"`
	Milli     int64  `json:"milli"`
	Value     int64  `json:"value"`
	Sign      int    `json:"sign"`
}

func quantity(line []byte) (any, error) {
	var text string
	if err := json.Unmarshal(line, &text); err != nil {
		return nil, err
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return quantityAnswer{Text: text, Error: err.Error()}, nil
	}
	return quantityAnswer{Text: text, Canonical: q.String(), Milli: q.MilliValue(), Value: q.Value(), Sign: q.Sign()}, nil
}
