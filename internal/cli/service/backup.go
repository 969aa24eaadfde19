package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/atomicfile"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/server"
)

// backupOptions are the flags of "noregret backup".
type backupOptions struct {
	source
	output string
	force  bool
}

// newBackupCommand makes "noregret backup".
func newBackupCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "backup",
		Short: "Back up the service's data, while it runs",
		Long: `Write a backup of a running service at --server: the log, its snapshots, the keys that sign
tokens, and the privacy ledger, in one tar file (docs/formats/backup.md). Everything that the
service has acknowledged before is in it. It asks for an access token with the role admin. With
--data the backup is that of the data directory of a service that does not run.

The file is checked as it is written, and is there only if it is whole. A file that exists is
replaced with --force only. It has the keys and raw
feedback: it is for its owner only (mode 0600). Encrypt it before it leaves the machine. Access
tokens and certificates are not in it.

"noregret restore" makes a data directory of it.`,
		Example: `  noregret backup --output noregret.tar
  noregret backup --data data --output noregret.tar
  noregret backup --output latest.tar --force
  noregret backup --output - | age -r age1... > noregret.tar.age`,
		Args: command.NoArgs,
	}, &backupOptions{})
}

// AddFlags implements [command.Options].
func (o *backupOptions) AddFlags(f *pflag.FlagSet) {
	o.remote.AddFlags(f)
	f.StringVar(&o.data, "data", "", "the data directory of a service that is not running, instead of --server")
	f.StringVarP(&o.output, "output", "o", "", "file to write, - for standard output (required)")
	f.BoolVar(&o.force, "force", false, "replace the file of --output if it exists")
}

// Validate implements [command.Options].
func (o *backupOptions) Validate() error {
	switch {
	case o.output == "":
		return noregret.Errorf(noregret.Usage, "--output", "is required: the file to write, or -")
	case o.data != "" && o.live():
		return noregret.Errorf(noregret.Usage, "--data", "and --server exclude each other")
	}
	return nil
}

// Run implements [command.Options].
func (o *backupOptions) Run(ctx context.Context, a *command.App, _ []string) error {
	if o.output == "-" {
		_, err := o.write(ctx, a.Stdout)
		return err
	}
	if _, err := os.Lstat(o.output); !o.force && !errors.Is(err, fs.ErrNotExist) {
		return noregret.Errorf(noregret.Usage, "--output",
			"%q exists: name a new file, as an older backup may be the only good one, or replace it with --force",
			o.output)
	}
	f, err := atomicfile.CreatePrivate(o.output)
	if err != nil {
		return err
	}
	defer f.Abort()
	info, err := o.write(ctx, f)
	if err == nil {
		err = f.Commit()
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "backed up events %d to %d\n", info.First, info.Last)
	return err
}

// write writes the backup and checks what it writes.
func (o *backupOptions) write(ctx context.Context, w io.Writer) (server.BackupInfo, error) {
	if o.data != "" {
		return server.Backup(ctx, o.data, w)
	}
	c, err := o.client()
	if err != nil {
		return server.BackupInfo{}, err
	}
	body, err := c.Backup(ctx)
	if err != nil {
		return server.BackupInfo{}, err
	}
	in := io.TeeReader(body, w)
	info, err := server.CheckBackup("the backup", in)
	return info, errors.Join(err, body.Close())
}
