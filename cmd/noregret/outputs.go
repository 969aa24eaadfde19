package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/internal/atomicfile"
)

// stdName stands for standard input or standard output among file names.
const stdName = "-"

// namedFile is a file and the flag that names it, "" for an argument.
type namedFile struct{ flag, path string }

func (f namedFile) what() string {
	if f.flag == "" {
		return "an input"
	}
	return "the file of " + f.flag
}

// inputFiles are the files that a command's arguments name.
func inputFiles(paths []string) []namedFile {
	var out []namedFile
	for _, p := range paths {
		out = append(out, namedFile{path: p})
	}
	return out
}

// checkOutputs refuses, before any work is done, files to write that are inputs or given twice, and
// then those that cannot be written. An empty path is an error; leave out what is not asked for.
func checkOutputs(outputs, inputs []namedFile) error {
	for i, out := range outputs {
		switch out.path {
		case "":
			return noregret.Errorf(noregret.Usage, out.flag, "the file name is empty")
		case stdName:
			return noregret.Errorf(noregret.Usage, out.flag,
				"%q is no file: this output is written to a file of its own, name one", stdName)
		}
		for _, in := range inputs {
			if in.path != "" && in.path != stdName && samePath(out.path, in.path) {
				return noregret.Errorf(noregret.Usage, out.flag, "%q is %s and would be overwritten; name another file",
					out.path, in.what())
			}
		}
		for _, other := range outputs[:i] {
			if samePath(out.path, other.path) {
				return noregret.Errorf(noregret.Usage, out.flag, "%q is %s too; name another file", out.path,
					other.what())
			}
		}
	}
	for _, out := range outputs {
		if err := checkWritable(out.path); err != nil {
			return err
		}
	}
	return nil
}

// samePath reports whether two paths lead to one file, or would if it were there.
func samePath(a, b string) bool {
	x, errx := os.Stat(a)
	y, erry := os.Stat(b)
	if errx == nil && erry == nil {
		return os.SameFile(x, y)
	}
	return errx != nil && erry != nil && settledPath(a) == settledPath(b)
}

// settledPath is the path of a file that need not be there, from the root and without links in its
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

// checkWritable finds out that a file cannot be written before the work whose result it is to hold.
func checkWritable(path string) error {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return noregret.Errorf(noregret.Internal, path, "the file cannot be written: it is a directory")
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

// loadModel is [classify.LoadModel] for a path from the command line.
func loadModel(path string) (*classify.Model, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return nil, noregret.BadInputf(path, "it is a directory; name a model file")
	}
	return classify.LoadModel(path)
}
