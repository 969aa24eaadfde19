package reproduce

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret/lab/papers"
)

// What counts as equal to the best, as reasonably accurate and as very poor.
const (
	closeTo    = 0.01
	reasonable = 0.05
	poor       = 0.1
)

// last is the last point of a series.
func (c *classifyCurve) last() *classifyPoint { return &c.Points[len(c.Points)-1] }

// reaches is the first point whose value is at least the target, nil if there is none.
func (c *classifyCurve) reaches(target float64) *classifyPoint {
	for i := range c.Points {
		if c.Points[i].Value >= target {
			return &c.Points[i]
		}
	}
	return nil
}

// seconds is the time until the series reaches the target, +Inf if it does not.
func (c *classifyCurve) seconds(target float64) float64 {
	if p := c.reaches(target); p != nil {
		return p.Seconds
	}
	return math.Inf(1)
}

// curve is the series of a method, nil if there is none.
func (x *classifyResult) curve(method string) *classifyCurve {
	for i := range x.Curves {
		if x.Curves[i].Method == method {
			return &x.Curves[i]
		}
	}
	return nil
}

// best is the largest last value of the methods, without those named.
func (x *classifyResult) best(without ...string) float64 {
	best := math.Inf(-1)
	for i := range x.Curves {
		if c := &x.Curves[i]; !slices.Contains(without, c.Method) {
			best = max(best, c.last().Value)
		}
	}
	return best
}

// faster is by which factor a method is sooner close to the best than the others: 0 if it does not
// come close, +Inf if no other does.
func (x *classifyResult) faster(method string) float64 {
	target := x.best() - closeTo
	own, others := x.curve(method).seconds(target), math.Inf(1)
	if math.IsInf(own, 1) {
		return 0
	}
	for i := range x.Curves {
		if c := &x.Curves[i]; c.Method != method {
			others = min(others, c.seconds(target))
		}
	}
	return others / own
}

// classifyClaim is a claim of the paper and what there is here.
type classifyClaim struct {
	text   string
	figure int
	set    string
	here   string
	holds  bool
}

// claimsOf compares the results with the claims of the paper about its figures.
func claimsOf(results []classifyResult) (list []classifyClaim) {
	for k := range results {
		x := &results[k]
		add := func(holds bool, here, format string, args ...any) {
			list = append(list, classifyClaim{fmt.Sprintf(format, args...), x.Figure, x.Set, here, holds})
		}
		method := papers.CurveSPADE
		if x.Figure > 2 {
			method = papers.CurveSTAMP
		}
		own := x.curve(method)
		lead := own.last().Value - x.best(method)
		add(lead >= -closeTo, fmt.Sprintf("%+.3f", lead), "%s is as good as every other method, or better", method)
		times := x.faster(method)
		add(times >= 3, factor(times), "%s needs at most a third of the time of the others", method)
		if x.Figure > 2 {
			if other := x.curve(papers.CurveOnePass); other != nil {
				behind := own.last().Value - other.last().Value
				slower := other.last().Seconds / own.seconds(other.last().Value)
				add(behind > closeTo || slower > 1, fmt.Sprintf("%+.3f, %s", behind, factor(slower)),
					"%s is better than 1PMB, or sooner as good", method)
			}
			continue
		}
		if x.Set != "mnist-5" {
			add(lead >= 0.02, fmt.Sprintf("%+.3f", lead), "SPADE is better than every other method by .02 to .03")
		} else {
			add(times >= 60, factor(times), "SPADE has the best solution 60 times as fast as others")
		}
		target := x.best() - reasonable
		slower := x.curve(papers.CurveStruct).seconds(target) / own.seconds(target)
		add(slower >= 10, factor(slower), "the struct-SVM needs ten times the time to be within .05 of the best")
		behind := own.last().Value - x.curve(papers.CurveLogistic).last().Value
		add(behind >= poor, fmt.Sprintf("%+.3f", behind), "SPADE is far better than logistic regression at threshold 0")
	}
	return list
}

// factor is a factor of times.
func factor(v float64) string {
	switch {
	case v != v || v == 0:
		return "not close"
	case math.IsInf(v, 1):
		return "no other is close"
	}
	return fmt.Sprintf("× %.2g", v)
}
