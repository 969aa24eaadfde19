package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/noregret/noregret"
)

// checkPlotName refuses names that are neither .svg nor .png.
func checkPlotName(path string) error {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".svg", ".png":
		return nil
	default:
		return noregret.Errorf(noregret.Usage, "--plot", "%q is neither a .svg nor a .png file", path)
	}
}

// writePlots draws a table of plots, some of which may be nil, into an .svg or .png file, atomically.
func writePlots(path string, plots [][]*plot.Plot, width, height vg.Length) error {
	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	}
	if strings.EqualFold(filepath.Ext(path), ".svg") {
		canvas = vgsvg.New(width, height)
	} else {
		canvas = vgimg.PngCanvas{Canvas: vgimg.New(width, height)}
	}
	tiles := draw.Tiles{
		Rows: len(plots), Cols: len(plots[0]), PadX: vg.Points(12), PadY: vg.Points(12),
		PadTop: vg.Points(6), PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(6),
	}
	for i, row := range plot.Align(plots, tiles, draw.New(canvas)) {
		for j, at := range row {
			if plots[i][j] != nil {
				plots[i][j].Draw(at)
			}
		}
	}
	err := writeFile(path, func(w io.Writer) error {
		_, err := canvas.WriteTo(w)
		return err
	})
	if err != nil {
		return fmt.Errorf("the picture: %w", err)
	}
	return nil
}
