package show

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/noregret/noregret/internal/legible"
)

// JSON prints an indented JSON value.
func JSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(legible.JSON(b.Bytes()))
	return err
}
