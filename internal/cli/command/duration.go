package command

import (
	"errors"
	"time"

	"github.com/spf13/pflag"

	"github.com/noregret/noregret/policy"
)

// duration is a flag that is a length of time, which may have days in front. The help shows its
// default as people write it, 7d and not 168h0m0s.
type duration time.Duration

// DurationVar declares a flag that is a length of time. The default is the present value.
func DurationVar(f *pflag.FlagSet, value *time.Duration, name, usage string) {
	f.Var((*duration)(value), name, usage)
}

// String implements pflag.Value. The help shows no default of 0.
func (d *duration) String() string {
	if *d == 0 {
		return "0"
	}
	return policy.Duration(*d).String()
}

// Set implements pflag.Value.
func (d *duration) Set(s string) error {
	if (*policy.Duration)(d).UnmarshalText([]byte(s)) != nil {
		return errors.New("want a length of time, such as 10s, 36h or 7d")
	}
	return nil
}

// Type implements pflag.Value; help shows it behind the flag's name.
func (d *duration) Type() string { return "duration" }
