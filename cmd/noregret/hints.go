package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/named"
)

// flagError completes an error of the flag parser: what is wrong in a sentence, and for an unknown
// flag those that have nearly its name.
func flagError(cmd *cobra.Command, err error) error {
	message := plainFlagError(err.Error())
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				known = append(known, "--"+f.Name)
			}
		})
		message += suggestion("--"+unknown.GetSpecifiedName(), known)
	}
	return errors.New(message)
}

// suggestion asks for the name that was probably meant, after a semicolon. Without one it is empty.
func suggestion(name string, known []string) string {
	if text := named.DidYouMean(name, known); text != "" {
		return "; " + strings.TrimSpace(text)
	}
	return ""
}

// requiredFlags are the names in cobra's error.
var requiredFlags = regexp.MustCompile(`^required flag\(s\) (.*) not set$`)

// missingFlag says what a required flag is for. A model among the arguments is one that wants the
// flag.
func missingFlag(cmd *cobra.Command, err error) error {
	m := requiredFlags.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	name, _, _ := strings.Cut(strings.Trim(m[1], `"`), `"`)
	f := cmd.Flag(name)
	if f == nil {
		return err
	}
	_, usage := pflag.UnquoteUsage(f)
	if i := firstModel(cmd.Flags().Args()); name == "model" && cmd.Name() != "train" && i >= 0 {
		args := slices.Clone(cmd.Flags().Args())
		path := args[i]
		want := cmd.CommandPath() + " --model " + strings.Join(slices.Insert(slices.Delete(args, i, i+1), 0, path), " ")
		return noregret.Errorf(noregret.Usage, "--model", "is required, and %q is a model file: want %s", path, want)
	}
	return noregret.Errorf(noregret.Usage, "--"+name, "is required: the %s", strings.TrimPrefix(usage, "the "))
}

// firstModel returns the place of the first model file in a list, -1 for none.
func firstModel(paths []string) int {
	return slices.IndexFunc(paths, func(path string) bool { return contentOf(path) == aModel })
}

// content is what a file looks like.
type content string

const (
	aModel      content = "a model"
	aCache      content = "a cache of data"
	aDefinition content = "the definition of an experiment"
	someData    content = "data"
	unknown     content = ""
)

// contentOf looks at the beginning of a file. It reads no directories, pipes or devices.
func contentOf(path string) content {
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return unknown
	}
	f, err := os.Open(path)
	if err != nil {
		return unknown
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return unknown
	}
	switch {
	case modelStart.Match(b):
		return aModel
	case bytes.HasPrefix(b, []byte("NRDATA\r\n")):
		return aCache
	case definitionLine.Match(b):
		return aDefinition
	case bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) && !jsonLines.Match(b):
		return unknown
	}
	return someData
}

var (
	modelStart     = regexp.MustCompile(`^\s*\{\s*"format":\s*"noregret-`)
	definitionLine = regexp.MustCompile(`(?m)^(arms|metrics):`)
	jsonLines      = regexp.MustCompile(`^\s*\{.*\}\s*\n\s*\{`)
)

// hint completes an error with what to do next, where the message alone does not say it.
func hint(cmd *cobra.Command, err error) error {
	e, ok := errors.AsType[*noregret.Error](err)
	if !ok {
		return err
	}
	add := func(format string, args ...any) error {
		return noregret.Errorf(e.Code, "", "%w"+format, append([]any{err}, args...)...)
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" && cmd.Flag("server") != nil {
		return noregret.Errorf(e.Code, e.Place, `the service does not answer: %w: "noregret serve" starts one on this `+
			`machine, "noregret demo" shows one at work, and --server URL names another`, dial.Err)
	}
	// What the service says of a deleted experiment ends otherwise.
	if e.Code == noregret.NotFound && e.Place == "experiment" && strings.HasSuffix(e.Message, `"`) &&
		cmd.Flag("server") != nil {
		return add(` ("noregret experiment list" lists them)`)
	}
	file, _, _ := strings.Cut(e.Place, ":")
	if e.Code == noregret.BadInput && cmd.Flag("format") != nil && slices.Contains(cmd.Flags().Args(), file) {
		if is := contentOf(file); is == aModel || is == aDefinition {
			return add(" (the file is %s: want data)", is)
		}
	}
	return err
}
