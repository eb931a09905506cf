"""The loop through a schedule in machine code; see `chasles.engine.schedule`."""

from __future__ import annotations

ENTRY = "chasles_schedule"

#: Each row of the table has six words: a kernel's loop with its arguments, dimensions and strides, or a jump's number
#: and row. What is neither ends the loop.
SCHEDULE = f"""
define i64 @{ENTRY}(ptr %table, i64 %first) {{
entry:
  br label %next
next:
  %row = phi i64 [%first, %entry], [%after, %call], [%to, %jump]
  %after = add i64 %row, 1
  %at = getelementptr [6 x i64], ptr %table, i64 %row
  %loop = load ptr, ptr %at
  %is_call = icmp ne ptr %loop, null
  br i1 %is_call, label %call, label %other
call:
  %args_at = getelementptr i64, ptr %at, i64 1
  %dims_at = getelementptr i64, ptr %at, i64 2
  %steps_at = getelementptr i64, ptr %at, i64 3
  %args = load ptr, ptr %args_at
  %dims = load ptr, ptr %dims_at
  %steps = load ptr, ptr %steps_at
  call void %loop(ptr %args, ptr %dims, ptr %steps, ptr null)
  br label %next
other:
  %flag_at = getelementptr i64, ptr %at, i64 4
  %flag = load ptr, ptr %flag_at
  %is_jump = icmp ne ptr %flag, null
  br i1 %is_jump, label %jump, label %end
jump:
  %number = load double, ptr %flag
  %is_positive = fcmp ogt double %number, 0.0
  %target_at = getelementptr i64, ptr %at, i64 5
  %target = load i64, ptr %target_at
  %to = select i1 %is_positive, i64 %target, i64 %after
  br label %next
end:
  ret i64 %row
}}
"""
