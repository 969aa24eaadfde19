package mixed

// Rules are the special rules of the model, which an ablation switches off one at a time.
type Rules uint

const (
	NoSegments   Rules = 1 << iota // changes are looked for in blocks only
	NoSkew                         // the test for changes takes metrics to be normal
	NoJoint                        // each arm has its own mean
	NoUneven                       // an arm that is noisier by far has the pooled variance too
	NoDispersion                   // the scatter between rounds does not raise known variances
	NoTrust                        // the pooled variance counts whatever an arm's own is
	NoReconcile                    // means hold whatever comparisons within rounds say
	NoOutlier                      // an arm that is far off in a round counts for the others
	NoProportion                   // values that follow a level together do so by the same amount
	NoBlocks                       // changes are looked for in the last 16 rounds only
	NoCrash                        // an arm that got worse alone is not compared with the control
	NoSince                        // optimism counts all rounds alike after a change
	NoUnknown                      // errors that may leave out effects of rounds count as they are
	NoDoubled                      // there is no solution where the size of an arm has doubled
	NextRule                       // the first that is not a rule of the model
)

func (p *Problem) has(rule Rules) bool { return p.Without&rule == 0 }
