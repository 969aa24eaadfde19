// Command noregret-input turns a source that noregret does not read into text on standard output:
//
//	set -o pipefail
//	noregret-input parquet clicks.parquet | noregret train --stream --measure f1 --model m.json -
//
// Its arguments are addresses of sources, its subcommands formats of files. Results go to standard
// output, everything else to standard error. The exit status is that of noregret: 0 for success, 1
// for a failure, 2 for a usage error and 3 for bad input. Text before a fault has been written by
// then; what reads it must not take it for all.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/command"
)

func main() { os.Exit(command.Main(newRoot)) }

// newRoot makes the tree of commands.
func newRoot(a *command.App) *cobra.Command {
	var o sourceOptions
	root := command.NewRoot(a, &cobra.Command{
		Use:   "noregret-input [ADDRESS]",
		RunE:  runSource(a, &o),
		Short: "Turn a source into text for noregret",
		Long: `noregret-input writes a source that noregret does not read itself as text to standard output, for a file
or for the standard input of noregret. A source with an address is an argument:

  s3://BUCKET/KEY   an object of S3 or of a store like it, as it is. Credentials, region and endpoint are
                    in the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN,
                    AWS_REGION, AWS_ENDPOINT_URL
  nats://HOST:PORT/STREAM
                    the messages of a stream of NATS JetStream, each a line; USER:PASSWORD@ or TOKEN@ may
                    be before the host
  kafka://HOST:PORT,.../TOPIC
                    the messages of a topic of Kafka, each a line; the order of each partition is kept, and
                    of all partitions the message with the earliest time comes first

When a source fails in the middle, the text before the fault has been written and the exit status is not
0. In a pipe, "set -o pipefail" makes the shell report it; a model of half of a source is not written if
the text goes to a file first, and noregret reads that file only if noregret-input succeeded.`,
		Example: "  noregret-input parquet clicks.parquet > clicks.csv\n" +
			"  noregret-input s3://bucket/clicks.csv.gz > clicks.csv.gz",
	},
		command.Group{ID: "files", Title: "Files:", Commands: []*cobra.Command{newParquetCommand(a)}},
	)
	o.addFlags(root.Flags())
	root.Args = sourceArgs(root.Args)
	return root
}
