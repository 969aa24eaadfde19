package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/picture"
)

// checkPlots returns an error for pictures whose names end neither in .svg nor in .png, and for
// those that checkOutputs refuses.
func checkPlots(paths []string, inputs []namedFile) error {
	var plots []namedFile
	for _, path := range paths {
		if err := checkPlotName(path); err != nil {
			return err
		}
		plots = append(plots, namedFile{"--plot", path})
	}
	return checkOutputs(plots, inputs)
}

// checkPlotName returns an error for a name that ends neither in .svg nor in .png.
func checkPlotName(path string) error {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".svg", ".png":
		return nil
	default:
		return noregret.Errorf(noregret.Usage, "--plot", "%q is neither a .svg nor a .png file", path)
	}
}

// writePlots draws panels one below the other into an .svg or .png file, atomically.
func writePlots(path string, panels ...*picture.Panel) error {
	format := "png"
	if strings.EqualFold(filepath.Ext(path), ".svg") {
		format = "svg"
	}
	err := writeFile(path, func(w io.Writer) error { return picture.WritePage(w, format, panels) })
	if err != nil {
		return fmt.Errorf("the picture: %w", err)
	}
	return nil
}
