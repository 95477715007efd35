// SPDX-License-Identifier: Apache-2.0

package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"reflect"
	"strings"
)

// body is what a request may carry.
type body interface {
	// example is one in JSON, for whoever sent something else.
	example() string
}

func (*PlayableSlots) example() string { return `{"playableSlots": 12}` }
func (*JoinsBody) example() string     { return `{"joins": "Closed"}` }
func (*NewBoost) example() string      { return `{"replicas": 2, "for": "2h"}` }
func (*Move) example() string          { return `{"player": "Ada", "to": "arena"}` }
func (*Roster) example() string {
	return `{"players": [{"name": "Ada"}]}, or {"players": []} when nobody is online`
}

// read decodes the body of a request. It refuses by itself.
func read(w http.ResponseWriter, r *http.Request, into body) bool {
	return readUpTo(maxBody, w, r, into)
}

func readUpTo(limit int64, w http.ResponseWriter, r *http.Request, into body) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, errors.New("send the body as Content-Type: application/json"))
		return false
	}
	content, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err == nil {
		err = decode(content, into)
	}
	if err == nil {
		return true
	}
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		err = fmt.Errorf("the body is too large, and may have %d bytes", limit)
	}
	refuse(w, http.StatusBadRequest, fmt.Errorf("%w; send a body such as %s", err, into.example()))
	return false
}

// decode reads one object. It is stricter than encoding/json, which takes names
// in any case and the last of two.
func decode(content []byte, into body) error {
	decoder := json.NewDecoder(bytes.NewReader(content))
	if err := decoder.Decode(into); err != nil {
		return explain(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the body is more than one object")
	}
	// What has been decoded is JSON, and not nested too deeply.
	return checkNames(json.NewDecoder(bytes.NewReader(content)), reflect.TypeOf(into).Elem())
}

// explain says in words of JSON what is wrong with a body.
func explain(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the body is empty")
	}
	if _, bad := errors.AsType[*json.SyntaxError](err); bad || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the body is no JSON: %w", err)
	}
	other, found := errors.AsType[*json.UnmarshalTypeError](err)
	if !found {
		return err
	}
	name := "the body"
	if other.Field != "" {
		name = other.Field
	}
	return fmt.Errorf("%s is %s and has to be %s", name, article(other.Value), wanted(other.Type.Kind()))
}

// article puts one before a word of encoding/json, such as string or number 1.5.
func article(value string) string {
	switch {
	case strings.HasPrefix(value, "number "):
		return "the " + value
	case strings.HasPrefix(value, "array"), strings.HasPrefix(value, "object"):
		return "an " + value
	case value == "bool":
		return "true or false"
	}
	return "a " + value
}

func wanted(kind reflect.Kind) string {
	switch kind { //nolint:exhaustive // No body holds anything else.
	case reflect.Int:
		return fmt.Sprintf("a whole number, at most %d", math.MaxInt32)
	case reflect.Slice:
		return "a list"
	case reflect.Struct:
		return "an object"
	default:
		return "a string"
	}
}

// checkNames refuses names that the fields of a body do not have to the letter,
// those that come twice, and the lack of one that has to be there.
func checkNames(decoder *json.Decoder, kind reflect.Type) error {
	token, err := decoder.Token()
	if err != nil {
		return fmt.Errorf("the body is no JSON: %w", err)
	}
	switch {
	case token == json.Delim('{') && kind.Kind() == reflect.Struct:
		return checkMembers(decoder, kind)
	case token == json.Delim('[') && kind.Kind() == reflect.Slice:
		for decoder.More() {
			if err := checkNames(decoder, kind.Elem()); err != nil {
				return err
			}
		}
		_, err = decoder.Token()
	case kind.Kind() == reflect.Struct:
		return errors.New("there is null in the place of an object")
	}
	return err
}

// checkMembers goes on after the brace of an object.
func checkMembers(decoder *json.Decoder, kind reflect.Type) error {
	var names []string
	fields := map[string]reflect.StructField{}
	for field := range kind.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
		fields[name] = field
	}
	// seen has the names that were there, with false for those that are null.
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return fmt.Errorf("the body is no JSON: %w", err)
		}
		name, _ := token.(string)
		field, known := fields[name]
		_, twice := seen[name]
		switch {
		case !known:
			return fmt.Errorf("there is no field %q, only %s", name, strings.Join(names, " and "))
		case twice:
			return fmt.Errorf("%s is there twice", name)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return fmt.Errorf("the body is no JSON: %w", err)
		}
		// Null is how some clients leave a field out.
		if seen[name] = string(value) != "null"; !seen[name] {
			continue
		}
		if err := checkNames(json.NewDecoder(bytes.NewReader(value)), field.Type); err != nil {
			return err
		}
	}
	for _, name := range names {
		if !seen[name] && !strings.Contains(fields[name].Tag.Get("json"), ",omitempty") {
			return fmt.Errorf("%s is missing", name)
		}
	}
	_, err := decoder.Token()
	return err
}
