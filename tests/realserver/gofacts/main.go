// Command gofacts says what Go's libraries make of values: each line of its input is a question in JSON, each line
// of its output the answer. The libraries are those of the real control plane, in the same versions.
package main

import (
	"bufio"
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"log"
	"net/url"
	"os"

	"github.com/blang/semver/v4"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"sigs.k8s.io/yaml"
)

type question struct {
	What  string
	Text  string             // yaml, field-selector, format, url, semver
	Name  string             // format; the other version of semver
	Doc   stdjson.RawMessage // json-patch
	Patch stdjson.RawMessage
}

type answer struct {
	Error string `json:"error,omitempty"`
	Value any    `json:"value"`
}

func main() {
	output := bufio.NewWriter(os.Stdout)
	defer func() { must(output.Flush()) }()
	for input := bufio.NewReader(os.Stdin); ; {
		line, err := input.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked question
		must(stdjson.Unmarshal(line, &asked))
		value, err := reply(asked)
		given := answer{Value: value}
		if err != nil {
			given = answer{Error: err.Error()}
		}
		written, err := stdjson.Marshal(given)
		must(err)
		_, err = output.Write(append(written, '\n'))
		must(err)
	}
}

// reply turns a panic of a library into an error: what panics there is refused by a server too.
func reply(asked question) (value any, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			value, err = nil, fmt.Errorf("panic: %v", reason)
		}
	}()
	switch asked.What {
	case "json-patch":
		patch, err := jsonpatch.DecodePatch(asked.Patch)
		if err != nil {
			return nil, err
		}
		patched, err := patch.Apply(asked.Doc)
		return stdjson.RawMessage(bytes.TrimSpace(patched)), err
	case "yaml":
		// As kubectl reads a manifest: YAML to JSON, that to an unstructured object, and that to what is sent.
		text, err := yaml.YAMLToJSON([]byte(asked.Text))
		if err != nil {
			return nil, err
		}
		var read any
		if err := json.Unmarshal(text, &read); err != nil {
			return nil, err
		}
		written, err := json.Marshal(read)
		return string(written), err
	case "field-selector":
		selector, err := fields.ParseSelector(asked.Text)
		if err != nil {
			return nil, err
		}
		requirements := [][3]string{}
		for _, one := range selector.Requirements() {
			requirements = append(requirements, [3]string{one.Field, string(one.Operator), one.Value})
		}
		return requirements, nil
	case "format":
		return strfmt.Default.Validates(asked.Name, asked.Text), nil
	case "url":
		// A server parses twice: the first reads a fragment as part of the path, and refuses what is relative.
		if _, err := url.ParseRequestURI(asked.Text); err != nil {
			return nil, err
		}
		read, err := url.Parse(asked.Text)
		if err != nil {
			return nil, err
		}
		return []any{read.Scheme, read.Host, read.Hostname(), read.Port(), read.EscapedPath(), read.Query()}, nil
	case "semver":
		one, err := semver.Parse(asked.Text)
		if err != nil {
			return nil, err
		}
		other, err := semver.Parse(asked.Name)
		if err != nil {
			return nil, err
		}
		return one.Compare(other), nil
	}
	return nil, fmt.Errorf("no such question: %q", asked.What)
}

func must(err error) {
	if err != nil {
		log.Fatalln(err)
	}
}
