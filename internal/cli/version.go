package cli

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/command"
)

// newVersionCommand makes "noregret version".
func newVersionCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "version",
		Short: "Show which noregret this is",
		Long: `Show the version of noregret, the revision it was built from (if recorded), the
version of Go and the platform.`,
		Example: "  noregret version",
		Args:    command.NoArgs,
	}, command.Func(func(_ context.Context, a *command.App, _ []string) error {
		info, ok := debug.ReadBuildInfo()
		if !ok {
			info = &debug.BuildInfo{}
		}
		return writeVersion(a.Stdout, info)
	}))
}

// writeVersion prints one line: noregret VERSION [REVISION] GO OS/ARCH.
func writeVersion(w io.Writer, info *debug.BuildInfo) error {
	version := info.Main.Version
	if version == "" {
		version = "(devel)"
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = " " + s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "+changes"
		}
	}
	if revision == "" {
		modified = ""
	}
	_, err := fmt.Fprintf(w, "noregret %s%s%s %s %s/%s\n",
		version, revision, modified, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
