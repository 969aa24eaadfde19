package scenario

func rankingSpec() Spec   { return Spec{Name: "ranking"} }
func hillstromSpec() Spec { return Spec{Name: "hillstrom"} }
