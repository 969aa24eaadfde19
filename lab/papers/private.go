package papers

import "math"

// PrivateResult is what Table 5.1 of Han, Liang, Liang, Wang, Yao and Zhang, "On Private Online
// Convex Optimization", reports of its algorithm (OFW) for (1, 1/T)-differential privacy: the mean
// suboptimality over ten runs. lab/docs/privacy-learners.md says why it cannot be compared as it
// stands.
type PrivateResult struct {
	P           float64 // +Inf for the maximum norm
	Dim, Rounds int
	Suboptimal  float64
}

// PublishedPrivate lists Table 5.1 for the horizons 1,000 to 10,000, by norm, horizon and
// dimension.
func PublishedPrivate() []PrivateResult {
	values := [...]struct {
		rounds     int
		small, max [3]float64 // for p = 1.5 and p = ∞, in 5, 10 and 20 dimensions
	}{
		{1000, [3]float64{0.0172, 0.201, 0.775}, [3]float64{0.112, 0.582, 0.982}},
		{2000, [3]float64{0.00235, 0.0595, 0.406}, [3]float64{0.0432, 0.364, 0.82}},
		{5000, [3]float64{0.000702, 0.0163, 0.185}, [3]float64{0.0145, 0.125, 0.637}},
		{10000, [3]float64{0.000318, 0.00465, 0.0592}, [3]float64{0.00293, 0.0467, 0.363}},
	}
	var out []PrivateResult
	for _, p := range []float64{1.5, math.Inf(1)} {
		for _, v := range values {
			row := v.small
			if p > 2 {
				row = v.max
			}
			for i, dim := range []int{5, 10, 20} {
				out = append(out, PrivateResult{p, dim, v.rounds, row[i]})
			}
		}
	}
	return out
}
