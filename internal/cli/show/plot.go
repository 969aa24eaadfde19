package show

import (
	"fmt"
	"image/color"
	"io"
	"path/filepath"
	"strings"

	"github.com/noregret/noregret/internal/cli/files"
	"github.com/noregret/noregret/internal/picture"
)

// Picture draws panels one below the other into an .svg or .png file, atomically.
func Picture(path string, panels ...*picture.Panel) error {
	format := "png"
	if strings.EqualFold(filepath.Ext(path), ".svg") {
		format = "svg"
	}
	err := files.Write(path, func(w io.Writer) error { return picture.WritePage(w, format, panels) })
	if err != nil {
		return fmt.Errorf("the picture: %w", err)
	}
	return nil
}

// Colours are the colours of curves, such as those of learners in the order of the command line.
var Colours = append(append([]color.Color{}, picture.Warm...), picture.Cool...)
