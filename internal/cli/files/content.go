package files

import (
	"bytes"
	"io"
	"os"
	"regexp"
)

// Content is what a file looks like.
type Content string

// The contents that [ContentOf] recognises.
const (
	Model      Content = "a model"
	Cache      Content = "a cache of data"
	Definition Content = "the definition of an experiment"
	Data       Content = "data"
	Unknown    Content = ""
)

// ContentOf looks at the beginning of a file. It reads no directories, pipes or devices.
func ContentOf(path string) Content {
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return Unknown
	}
	f, err := os.Open(path)
	if err != nil {
		return Unknown
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return Unknown
	}
	switch {
	case modelStart.Match(b):
		return Model
	case bytes.HasPrefix(b, []byte("NRDATA\r\n")):
		return Cache
	case definitionLine.Match(b):
		return Definition
	case bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) && !jsonLines.Match(b):
		return Unknown
	}
	return Data
}

var (
	modelStart     = regexp.MustCompile(`^\s*\{\s*"format":\s*"noregret-`)
	definitionLine = regexp.MustCompile(`(?m)^(arms|metrics):`)
	jsonLines      = regexp.MustCompile(`^\s*\{.*\}\s*\n\s*\{`)
)
