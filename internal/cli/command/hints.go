package command

import (
	"errors"
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/cli/files"
	"github.com/noregret/noregret/internal/named"
)

// flagError completes an error of the flag parser: what is wrong in a sentence, and for an unknown
// flag the command below cmd that has its name, or the flags that have nearly its name.
func flagError(cmd *cobra.Command, err error) error {
	message := PlainFlagError(err.Error())
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := unknown.GetSpecifiedName()
		for _, c := range cmd.Commands() {
			if c.Name() == name {
				return errors.New(message + "; did you mean " + c.CommandPath() + "?")
			}
		}
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				known = append(known, "--"+f.Name)
			}
		})
		message += suggestion("--"+name, known)
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
	usage, _, _ = strings.Cut(usage, " (see ") // the error has a hint of its own
	return noregret.Errorf(noregret.Usage, "--"+name, "is required: the %s", strings.TrimPrefix(usage, "the "))
}

// firstModel returns the place of the first model file in a list, -1 for none.
func firstModel(paths []string) int {
	return slices.IndexFunc(paths, func(path string) bool { return files.ContentOf(path) == files.Model })
}

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
		if is := files.ContentOf(file); is == files.Model || is == files.Definition {
			return add(" (the file is %s: want data)", is)
		}
	}
	return err
}

// PlainFlagError replaces the message of package strconv about a flag's value by a sentence.
func PlainFlagError(message string) string {
	head, tail, found := strings.Cut(message, ": strconv.")
	if !found {
		return message
	}
	want := "want a number"
	switch {
	case strings.HasSuffix(tail, "value out of range"):
		want = "the number is out of range"
	case strings.HasPrefix(tail, "ParseUint"):
		want = "want a whole number, at least 0"
	case strings.HasPrefix(tail, "ParseInt"), strings.HasPrefix(tail, "Atoi"):
		want = "want a whole number"
	case strings.HasPrefix(tail, "ParseBool"):
		want = "want true or false"
	}
	return head + ": " + want
}
