package strictjson

import (
	"bytes"
	"encoding/json"
)

// Encode writes v as compact JSON, without encoding/json's escapes for HTML: a value that is read
// and written again keeps its bytes.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
