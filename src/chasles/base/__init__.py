"""Base: what every package stands on.

`errors` is the one family of exceptions and the one way to warn; `findings` the rules and records of what a result
calls for saying. `cached`, `comparable` and `sealed` are habits of classes: attributes computed once without locks,
named tuples of arrays that can be compared, objects that never change and refuse a misspelt member of a subclass.
`verbs` choose an implementation by type (`chasles.plot`, `chasles.check`); packages above register theirs. `lazy` opens
the front doors of packages, `writing` writes files whole or not at all, `packaged_files` finds those that come along,
`progress` shows how far long work is.
"""
