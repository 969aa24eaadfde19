package progress_test

import (
	"fmt"
	"os"
	"time"

	"github.com/noregret/noregret/internal/progress"
)

// A job of eight examples at one example a second, by a simulated clock.
func ExampleReporter() {
	now := time.Unix(0, 0)
	p, err := progress.New(os.Stdout, progress.Options{
		Mode:  progress.Plain,
		Clock: func() time.Time { return now },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	p.Start("train", 8)
	defer p.Finish()
	for i := range int64(8) {
		now = now.Add(time.Second)
		p.Metric("f1", 1-1/float64(i+2))
		p.Update(i + 1)
	}
	// Output:
	// train
	//       f1   change      examples  pass  examples/s   done  elapsed      ETA
	//   0.5000        -             1     1        1.00  12.5%       1s       7s
	//   0.6667  +0.1667             2     1        1.00  25.0%       2s       6s
	//   0.8000  +0.1333             4     1        1.00  50.0%       4s       4s
	//   0.8889  +0.0889             8     1        1.00 100.0%       8s       0s
}
