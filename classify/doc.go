// Package classify trains linear classifiers that maximize a performance measure of the whole
// confusion matrix, such as F1, G-mean, Q-mean or the worse of the two class accuracies, directly,
// one example at a time.
//
// With rare positives (fraud, churn, abuse, defects) accuracy is the wrong goal: a model that calls
// nothing positive has an excellent one. The usual way out is to train a logistic model and then to
// look for a threshold. This package trains for the measure itself (Narasimhan, Kar and Jain,
// "Optimizing Non-decomposable Performance Measures: A Tale of Two Classes", ICML 2015):
//
//   - [SPADE] for concave measures of the two class accuracies: G-mean, Q-mean, H-mean, min, balanced accuracy.
//   - [STAMP] for pseudo-linear ones: F-beta, Jaccard, Tversky, Cohen's kappa; AMP is its batch form.
//
// # Training on data
//
// [Fit] does all of it: it takes a [Data], holds a part out if the algorithm needs one,
// standardises the features, makes shuffled passes, chooses model and threshold on the held-out
// part, and returns a [Classifier] on raw features with its history. [Algorithms] lists the
// algorithms it knows, the baselines among them: plug-in logistic regression, plain and balanced
// logistic regression by L-BFGS, class-weighted search, plain stochastic gradient. [Compare] runs
// all of them on random splits; [Evaluate] counts a [Confusion]; [Model] is the file format. Data
// may be larger than memory: memory is O(number of features) and the scores of the held-out
// examples, a million at most unless asked for more. [Settings] lists the options with their ranges
// and defaults; flags and model files are made from that table.
//
// # Several classes and several labels
//
// A [Task] says what the labels of a row are: two classes ([Binary]), several classes, or any
// number of labels ([NewData]). All of the above is for each of them: two classes have one linear
// model and a [measure.Measure], the others one linear model a label and a [measure.Multi], a
// measure of the class recalls or a macro or micro average. The learners for several labels are
// [MulticlassSPADE], [MacroSTAMP] and [MicroSTAMP].
//
// # Learning privately
//
// A [PrivateTrainer] learns a linear model with differential privacy, each record once, and
// [PrivateFit] runs one with a ledger of what was spent.
//
// # Learning on a stream
//
// [FitStream] trains a model in one pass over a stream.
// [SPADE], [STAMP] and [SGD] are online learners ([Learner]): they see one example at a time and
// keep O(d) numbers. The first examples are held back until the scales of the features are known
// (see [Scaling], [Config.BurnIn]); after that an update costs O(number of non-zeros) and allocates
// nothing. A learner has no clock, no goroutine and no randomness; its state can be saved and
// restored, and continuing is bit-identical. Examples must come in random order: data sorted by
// label must be shuffled first, with a buffer of at least 50/p examples.
//
// # Guarantees and their limits
//
// SPADE's average iterate is within O(1/√T) of the best surrogate measure; [UpperBound] turns its
// average dual into a certificate for the model at hand. The bound is on the concave surrogate, a
// lower bound of the measure, not on the measure. With well-specified data a logistic model with a
// tuned threshold is just as good, and for G-, H- and Q-mean plain class-balanced training is
// close; the gain is on misspecified data, on min(P, N), and in time.
//
// # Steps
//
// The papers' steps are η₀/√t for all weights ([StepsSqrt]). Where columns span powers of ten or
// are rare, some weights are still far off after many passes; [StepsAdaptive] gives every weight
// its own schedule (AdaGrad). [Fit] trains STAMP with it, tries two rates, and ends level stages
// early; the options select the paper's form instead ([Config.Steps], [NewSTAMP]).
//
// [StepsBetting] has no step size at all: every weight is the bet of a coin-betting learner
// ([oco.ScaleFreeKT]), which finds the size of its weight by itself. It trains all online learners
// here, those of several classes and labels included, in one run where a search for the step size
// takes several. lab/docs/parameterfree.md compares the two on real data.
//
// # Streams that change
//
// [Options.Drift], a rule of package forget, says how a learner keeps up with a stream that
// changes: restarts at fixed intervals or by a change detector, a discount of the past, or a
// mixture of learners of many intervals. [FitStream] trains with it, and [Prequential] and
// [EvaluateStream] evaluate by testing on every example before learning from it.
// lab/docs/prequential.md compares the forms on real data.
//
// # Mistakes counted one by one
//
// [Perceptron] needs no step size either, and [RandomizedLinear] draws its labels at random: they
// bound the number of their mistakes on every sequence of examples, whatever its order, by what the
// best linear classifier of that sequence loses. Their methods return the bounds. They predict
// every label before they see it and are not algorithms of [Fit].
//
// # Same bytes
//
// The same data, options and seed give the same model, bit for bit, for any number of cores, and on
// any architecture: products are rounded explicitly so that no compiler fuses them, sums have a
// fixed order, and elementary functions come from internal/portable. The batch algorithms (plugin,
// logistic, logistic-balanced, amp) run under gonum/optimize's driver with an L-BFGS of this
// package's own, because gonum's rounds otherwise on other architectures.
package classify
