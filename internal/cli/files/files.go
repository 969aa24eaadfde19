package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/atomicfile"
)

// StdName is the file name of standard input and standard output.
const StdName = "-"

// Named is a file and the flag that names it, "" for an argument.
type Named struct{ Flag, Path string }

func (f Named) what() string {
	if f.Flag == "" {
		return "an input"
	}
	return "the file of " + f.Flag
}

// Inputs returns the files of a command's arguments.
func Inputs(paths []string) []Named {
	var out []Named
	for _, p := range paths {
		out = append(out, Named{Path: p})
	}
	return out
}

// CheckOutputs returns an error, before any work is done, for an output file that is also an input,
// is given twice, or cannot be written. An empty path is an error, too.
func CheckOutputs(outputs, inputs []Named) error {
	for i, out := range outputs {
		switch out.Path {
		case "":
			return noregret.Errorf(noregret.Usage, out.Flag, "the file name is empty")
		case StdName:
			return noregret.Errorf(noregret.Usage, out.Flag,
				"%q is not a file: this output needs a file of its own", StdName)
		}
		for _, in := range inputs {
			if in.Path != "" && in.Path != StdName && Same(out.Path, in.Path) {
				return noregret.Errorf(noregret.Usage, out.Flag, "%q is %s and would be overwritten; name another file",
					out.Path, in.what())
			}
		}
		for _, other := range outputs[:i] {
			if Same(out.Path, other.Path) {
				return noregret.Errorf(noregret.Usage, out.Flag, "%q is %s too; name another file", out.Path,
					other.what())
			}
		}
	}
	for _, out := range outputs {
		if err := checkWritable(out.Path); err != nil {
			return err
		}
	}
	return nil
}

// Same reports whether two paths name one file, which need not exist.
func Same(a, b string) bool {
	x, errx := os.Stat(a)
	y, erry := os.Stat(b)
	if errx == nil && erry == nil {
		return os.SameFile(x, y)
	}
	return errx != nil && erry != nil && settledPath(a) == settledPath(b)
}

// settledPath returns the absolute path of a file that need not exist, without links in its
// directory.
func settledPath(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return filepath.Clean(path)
	}
	dir, base := filepath.Split(abs)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return filepath.Join(dir, base)
}

// checkWritable returns an error if a file cannot be written.
func checkWritable(path string) error {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return noregret.Errorf(noregret.Internal, path, "the file cannot be written: a directory has this name")
	}
	f, err := atomicfile.Create(path)
	if err == nil {
		f.Abort()
		return nil
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err // without the name of the temporary file
	}
	return noregret.Errorf(noregret.Internal, path, "the file cannot be written: %w", err)
}

// Write writes a file whole or not at all. An error of write keeps its code.
func Write(path string, write func(w io.Writer) error) error {
	var inner error
	err := atomicfile.Write(path, func(w io.Writer) error {
		inner = write(w)
		return inner
	})
	if err == nil || inner != nil {
		return err
	}
	return noregret.Errorf(noregret.Internal, path, "cannot write the file: %w", err)
}

// CheckPlots returns an error for pictures whose names end neither in .svg nor in .png, and for
// those that CheckOutputs refuses.
func CheckPlots(paths []string, inputs []Named) error {
	var plots []Named
	for _, path := range paths {
		if err := CheckPlotName(path); err != nil {
			return err
		}
		plots = append(plots, Named{"--plot", path})
	}
	return CheckOutputs(plots, inputs)
}

// CheckPlotName returns an error for a name that ends neither in .svg nor in .png.
func CheckPlotName(path string) error {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".svg", ".png":
		return nil
	default:
		return noregret.Errorf(noregret.Usage, "--plot", "%q is neither a .svg nor a .png file", path)
	}
}
