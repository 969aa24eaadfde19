// Package single looks for the best single arm of a problem of package pasto: the deterministic
// baseline that mixtures are compared with. It scores an arm by the objective of its estimated
// means, and chooses arms by successive elimination, upper confidence bounds or Thompson sampling.
package single
