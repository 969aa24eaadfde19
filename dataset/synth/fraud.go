package synth

import "math"

// Fraud resembles a table of card payments exported from a database: twelve raw columns (amounts of
// money, counts, flags, seconds and a rate) whose typical sizes range from 1e-6 to 1e6 and which
// are not scaled; 2.5 % of the rows are fraud.
//
// The classes overlap so much that few rows are more likely fraud than not. Even a well fitted
// logistic regression therefore predicts almost no fraud at its natural threshold, and its F1 is
// poor; the same scores with a threshold tuned for F1 do far better. The data set exists to show
// this gap. It is invented: no number in it was measured on real payments.
var Fraud = Spec{
	Name:    "fraud",
	Summary: "12 raw unscaled columns of a payments table (money, counts, seconds); 2.5 % positives",
	Columns: []string{
		"amount", "balance", "credit_limit", "payments_1h", "payments_30d", "seconds_since_last",
		"distance_km", "account_age_days", "device_rate", "new_payee", "foreign", "night",
	},
	PositiveRate: 0.025,
	Features:     fraudulent,
}

func fraudulent(g *Generator, positive bool, x []float64) {
	s := 0.0
	if positive {
		s = 1
	}
	cents := func(v float64) float64 { return math.Floor(float64(v*100)+0.5) / 100 }
	whole := func(v float64) float64 { return math.Floor(v + 0.5) }
	flag := func(p float64) float64 {
		if g.Uniform() < p {
			return 1
		}
		return 0
	}
	x[0] = cents(g.LogNormal(3.6+float64(0.7*s), 1.1))  // amount: median 37 against 74
	x[1] = cents(g.LogNormal(8.5-float64(0.3*s), 1.5))  // balance: median 4,900
	x[2] = 100 * whole(g.LogNormal(4.6, 0.8))           // credit_limit: median 10,000
	x[3] = g.Poisson(0.3 + float64(0.7*s))              // payments_1h
	x[4] = g.Poisson(25 - float64(4*s))                 // payments_30d
	x[5] = whole(g.LogNormal(11.5-float64(0.7*s), 1.8)) // seconds_since_last: a day and a half
	x[6] = whole(g.LogNormal(1.8+float64(0.6*s), 1.5))  // distance_km
	x[7] = whole(g.LogNormal(6.8-float64(0.5*s), 0.9))  // account_age_days: two and a half years
	x[8] = g.LogNormal(-13.8+float64(0.8*s), 0.9)       // device_rate: about 1e-6
	x[9] = flag(0.12 + float64(0.2*s))                  // new_payee
	x[10] = flag(0.05 + float64(0.1*s))                 // foreign
	x[11] = flag(0.15 + float64(0.1*s))                 // night
}
