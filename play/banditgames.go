package play

import (
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/regret"
)

// BanditGame describes a game of [RunBandits].
type BanditGame struct {
	// Name is the game's name, and Help one sentence about it.
	Name, Help string
	// Arms is the default number of arms, 0 for games of given data.
	Arms int
	// Options are the game's options, all with defaults.
	Options []regret.GameOption
	// TakesMeans reports that the game has the means of BanditOptions, and Takes what other data
	// it needs: "losses", "log" or "" for none.
	TakesMeans bool
	Takes      string
}

// The data that bandit games take.
const (
	takesLosses = "losses"
	takesLog    = "log"
)

// BanditGames lists the games that bandit algorithms can play.
func BanditGames() []BanditGame {
	return []BanditGame{
		{
			Name: "bernoulli", Help: "arms with losses 0 or 1 of given means (--means)", Arms: len(defaultMeans),
			TakesMeans: true,
		},
		{
			Name: "gaussian", Help: "arms with normal losses of given means (--means) and one deviation (--sd)",
			Arms: len(defaultMeans), TakesMeans: true,
			Options: []regret.GameOption{{
				Name: "sd", Default: 1, Low: 1e-100, High: 1e100, Help: "the standard deviation of the losses",
			}},
		},
		{
			Name: "switching",
			Help: "an adversary: one arm loses 0 and the others 1, and after a period the next arm " +
				"takes its place", Arms: 2,
			Options: []regret.GameOption{{
				Name: "period", Default: 1000, Low: 1, High: 1e15, Integer: true,
				Help: "the rounds between two changes",
			}},
		},
		{
			Name: "shifting",
			Help: "an adversary that keeps the gap: losses 0 or 1, the last arm is the best, and all " +
				"means move together in growing phases", Arms: 2,
			Options: []regret.GameOption{{Name: "gap", Default: 0.125, High: 1, Help: "the gap of the other arms"}},
		},
		{Name: "losses", Help: "the losses of a CSV file, one column for each arm, row by row", Takes: takesLosses},
		{Name: "replay", Help: "the losses of logged decisions, by rejection sampling", Takes: takesLog},
	}
}

// defaultMeans are the means of the games that take them, if none are given.
var defaultMeans = []float64{0.1, 0.5, 0.9}

// FindBanditGame returns the bandit game with the given name.
func FindBanditGame(name string) (*BanditGame, error) {
	return named.Find("game", name, BanditGames(), func(g *BanditGame) string { return g.Name })
}

// IsBanditGame reports whether a name is that of a bandit game.
func IsBanditGame(name string) bool {
	return slices.ContainsFunc(BanditGames(), func(g BanditGame) bool { return g.Name == name })
}

// banditSetting is a bandit game ready to be played.
type banditSetting struct {
	title   string
	game    regret.Arms         // nil for a log
	log     []regret.LoggedPull // of the game replay
	problem BanditProblem
	means   []float64 // nil if the game has none
	// lower bounds the growth of the regret with ln T from below, NaN if there is none.
	lower float64
}

// newBanditSetting makes the game that the options name.
func newBanditSetting(o *BanditOptions) (*banditSetting, error) {
	spec, err := ParseSpec("game", o.Game)
	if err != nil {
		return nil, err
	}
	entry, err := FindBanditGame(spec.Name)
	if err != nil {
		return nil, err
	}
	if err := entry.check(spec, o); err != nil {
		return nil, err
	}
	option := func(name string) float64 {
		if v, ok := spec.Options[name]; ok {
			return v
		}
		i := slices.IndexFunc(entry.Options, func(o regret.GameOption) bool { return o.Name == name })
		return entry.Options[i].Default
	}
	means := o.Means
	if means == nil && entry.TakesMeans {
		means = defaultMeans
	}
	s := &banditSetting{title: spec.String(), lower: math.NaN()}
	arms := o.Arms
	if arms == 0 {
		arms = entry.Arms
	}
	switch entry.Name {
	case "bernoulli":
		err = s.bernoulli(means)
	case "gaussian":
		err = s.gaussian(means, option("sd"))
	case "switching":
		s.problem = BanditProblem{Arms: arms, Limit: 1, Binary: true, Deviation: 0.5}
		s.game, err = regret.SwitchingArms(arms, int(option("period")))
	case "shifting":
		s.problem = BanditProblem{Arms: arms, Limit: 1, Binary: true, Deviation: 0.5}
		if s.game, err = regret.ShiftingArms(arms, option("gap")); err == nil {
			s.problem.Gaps = s.game.Means()
		}
	case "losses":
		err = s.table(o.Losses)
	default:
		err = s.replay(o.Log, o.LogArms)
	}
	if err != nil {
		return nil, err
	}
	s.problem.Rounds = o.Rounds
	return s, nil
}

// check returns an error for options that the game does not take.
func (g *BanditGame) check(spec Spec, o *BanditOptions) error {
	err := named.CheckOptions(g.Name, spec.Options, g.Options, func(o *regret.GameOption) string { return o.Name },
		func(o *regret.GameOption, v float64) error {
			if !(v >= o.Low && v <= o.High) || o.Integer && v != math.Floor(v) {
				return noregret.Errorf(noregret.Usage, g.Name+":"+o.Name, "%v is out of range, want %v to %v", v, o.Low,
					o.High)
			}
			return nil
		})
	switch {
	case err != nil:
		return err
	case o.Means != nil && !g.TakesMeans:
		return noregret.Errorf(noregret.Usage, "means", "%s takes none", g.Name)
	case o.Losses != nil && g.Takes != takesLosses:
		return noregret.Errorf(noregret.Usage, "losses", "%s takes none: losses does", g.Name)
	case o.Log != nil && g.Takes != takesLog:
		return noregret.Errorf(noregret.Usage, "log", "%s takes none: replay does", g.Name)
	case o.Losses == nil && g.Takes == takesLosses:
		return noregret.Errorf(noregret.Usage, "losses", "none: this game plays the losses of a file")
	case o.Log == nil && g.Takes == takesLog:
		return noregret.Errorf(noregret.Usage, "log", "none: this game plays the decisions of a log")
	case o.Arms != 0 && (g.TakesMeans || g.Takes != ""):
		return noregret.Errorf(noregret.Usage, "arms", "%d: %s has as many arms as its means or data", o.Arms, g.Name)
	}
	return nil
}

// gapsOf returns the means above the lowest.
func gapsOf(means []float64) []float64 {
	gaps := slices.Clone(means)
	for i := range gaps {
		gaps[i] -= slices.Min(means)
	}
	return gaps
}

func (s *banditSetting) bernoulli(means []float64) (err error) {
	if s.game, err = regret.BernoulliArms(means); err != nil {
		return noregret.Errorf(noregret.Usage, "bernoulli", "%w", err)
	}
	s.means, s.lower = means, bandit.BernoulliLowerBound(means)
	s.problem = BanditProblem{
		Arms: len(means), Limit: 1, Binary: true, Independent: true, Deviation: 0.5, Gaps: gapsOf(means),
	}
	return nil
}

func (s *banditSetting) gaussian(means []float64, sd float64) (err error) {
	if s.game, err = regret.GaussianArms(means, sd); err != nil {
		return noregret.Errorf(noregret.Usage, "gaussian", "%w", err)
	}
	gaps := gapsOf(means)
	s.means, s.lower = means, 0
	for _, gap := range gaps {
		if gap > 0 { // the divergence of normal distributions is Δ²/(2σ²)
			s.lower += float64(2*float64(sd*sd)) / gap
		}
	}
	s.problem = BanditProblem{
		Arms: len(means), Limit: math.Inf(1), Independent: true, Deviation: sd, Gaps: gaps,
	}
	return nil
}

func (s *banditSetting) table(rows [][]float64) (err error) {
	if s.game, err = regret.TableArms(rows); err != nil {
		return err
	}
	low, high, binary := math.Inf(1), 0.0, true
	for _, row := range rows {
		for _, g := range row {
			low, high = min(low, g), max(high, g)
			binary = binary && (g == 0 || g == 1)
		}
	}
	s.problem = BanditProblem{Arms: len(rows[0]), Limit: high, Binary: binary, Deviation: high / 2}
	switch {
	case low < 0:
		s.problem.Limit, s.problem.Deviation = math.Inf(1), (high-low)/2
	case high == 0 || binary:
		s.problem.Limit, s.problem.Deviation = 1, 0.5
	}
	return nil
}

func (s *banditSetting) replay(log []regret.LoggedPull, arms int) error {
	high, binary := 0.0, true
	for _, r := range log {
		if !(r.Loss >= 0) {
			return noregret.BadInputf("log", "the loss %v must be at least 0", r.Loss)
		}
		high = max(high, r.Loss)
		binary = binary && (r.Loss == 0 || r.Loss == 1)
	}
	if high == 0 || binary {
		high = 1
	}
	s.log = log
	s.problem = BanditProblem{Arms: arms, Limit: high, Binary: binary, Independent: true, Deviation: high / 2}
	return nil
}

// lowerBound is the growth of the regret that no good algorithm stays below, times ln T.
func (s *banditSetting) lowerBound(rounds int) float64 {
	return float64(s.lower * portable.Log(float64(rounds)))
}
