// Package usage adds up what the models of a session used and cost: in all, by
// model, on the path to a head, and by sub-agent.
//
// A [Fold] reads entries one at a time, so it continues when the session grows.
// What an entry says of usage is known by its dialect, see [Reporter]. Every
// answer counts once, however many entries report it. What a session took over
// from another one counts as inherited if its lines tell, so that the usage of
// several sessions can be added: see [Report.Inherited].
//
// Some agents write tokens and no cost. [Prices] estimate what those tokens cost.
// An estimate is never mixed with a cost that an agent wrote.
package usage
