package scored

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// Classes holds rows of several classes with a number for each class: scores for [Classes.AUC],
// probabilities for [Classes.LogLoss] and [Classes.Brier]. The zero Classes has no rows.
type Classes struct {
	// Numbers has one slice for each class, as long as Truth.
	Numbers [][]float64
	// Truth has the class of each row, from 0, and Weight its weight.
	Truth  []int
	Weight []float64
}

// Add adds a row with a number for each class.
func (c *Classes) Add(numbers []float64, truth int, weight float64) {
	if c.Numbers == nil {
		c.Numbers = make([][]float64, len(numbers))
	}
	for k, v := range numbers {
		c.Numbers[k] = append(c.Numbers[k], v)
	}
	c.Truth, c.Weight = append(c.Truth, truth), append(c.Weight, weight)
}

// AUC is the mean over the classes of the [AUC] of a class against all others, by the number of the
// class: scikit-learn's roc_auc_score with multi_class="ovr" and average="macro". The error is from
// the effects of the rows on the mean (the infinitesimal jackknife). It is undefined where a class
// has no row, or where a number is not finite. O(C·n·log n).
func (c *Classes) AUC() Estimate {
	n := float64(len(c.Numbers))
	mean, variance, effect := 0.0, 0.0, make([]float64, len(c.Truth))
	for k, numbers := range c.Numbers {
		examples := make([]Example, len(c.Truth))
		for i, y := range c.Truth {
			examples[i] = Example{Score: numbers[i], Weight: c.Weight[i], Positive: y == k}
		}
		groups, ok := grouped(examples)
		t := totals(groups)
		if !ok || t.positive == 0 || t.negative == 0 {
			return undefined
		}
		area := AUC(examples).Value
		mean += area / n
		// The share of the other class that a row of each score is on the right side of.
		ofPositive, ofNegative := map[float64]float64{}, map[float64]float64{}
		p, q := 0.0, 0.0
		for _, g := range groups {
			ofPositive[g.score] = (t.negative - q - float64(g.negative/2)) / t.negative
			ofNegative[g.score] = (p + float64(g.positive/2)) / t.positive
			p += g.positive
			q += g.negative
		}
		for i, x := range examples {
			if x.Positive {
				effect[i] += float64(x.Weight * (ofPositive[x.Score] - area) / t.positive / n)
			} else {
				effect[i] += float64(x.Weight * (ofNegative[x.Score] - area) / t.negative / n)
			}
		}
	}
	if n == 0 {
		return undefined
	}
	for _, e := range effect {
		variance += float64(e * e)
	}
	return Estimate{mean, math.Sqrt(variance)}
}

// LogLoss is the mean of −ln of the probability of the class that a row has. A probability below
// 2⁻⁵² counts as 2⁻⁵², as in scikit-learn. O(n).
func (c *Classes) LogLoss() Estimate {
	const least = 1.0 / (1 << 52)
	return c.mean(func(i int) float64 {
		return -portable.Log(min(max(c.Numbers[c.Truth[i]][i], least), 1-least))
	})
}

// Brier is the mean of the sum over the classes of the squared differences of the probability and 1
// for the class that a row has, 0 for others (Brier 1950): for two classes twice [Brier]. It is
// scikit-learn's brier_score_loss of several classes. O(C·n).
func (c *Classes) Brier() Estimate {
	return c.mean(func(i int) float64 {
		sum := 0.0
		for k, numbers := range c.Numbers {
			d := numbers[i]
			if k == c.Truth[i] {
				d = 1 - d
			}
			sum += float64(d * d)
		}
		return sum
	})
}

// mean is the weighted mean of a loss of the rows, undefined where a number is no probability.
func (c *Classes) mean(loss func(i int) float64) Estimate {
	losses := make([]float64, len(c.Truth))
	for i := range losses {
		for _, numbers := range c.Numbers {
			if !(numbers[i] >= 0 && numbers[i] <= 1) {
				return undefined
			}
		}
		losses[i] = loss(i)
	}
	return weightedMean(losses, c.Weight)
}
