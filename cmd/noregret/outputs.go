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

// stdName is the file name of standard input and standard output.
const stdName = "-"

// namedFile is a file and the flag that names it, "" for an argument.
type namedFile struct{ flag, path string }

func (f namedFile) what() string {
	if f.flag == "" {
		return "an input"
	}
	return "the file of " + f.flag
}

// inputFiles returns the files of a command's arguments.
func inputFiles(paths []string) []namedFile {
	var out []namedFile
	for _, p := range paths {
		out = append(out, namedFile{path: p})
	}
	return out
}

// checkOutputs returns an error, before any work is done, for an output file that is also an input,
// is given twice, or cannot be written. An empty path is an error, too.
func checkOutputs(outputs, inputs []namedFile) error {
	for i, out := range outputs {
		switch out.path {
		case "":
			return noregret.Errorf(noregret.Usage, out.flag, "the file name is empty")
		case stdName:
			return noregret.Errorf(noregret.Usage, out.flag,
				"%q is not a file: this output needs a file of its own", stdName)
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

// samePath reports whether two paths name one file, which need not exist.
func samePath(a, b string) bool {
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

// loadModel is [classify.LoadClassifier] for a path from the command line.
func loadModel(path string) (classify.Classifier, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return nil, noregret.Errorf(noregret.BadInput, path, "a directory: want a model file")
	}
	c, err := classify.LoadClassifier(path)
	if is := contentOf(path); noregret.CodeOf(err) == noregret.BadInput && is != aModel && is != unknown {
		return nil, noregret.BadInputf(path,
			"not a model file, it looks like %s: \"noregret train --model FILE\" writes models", is)
	}
	return c, err
}
