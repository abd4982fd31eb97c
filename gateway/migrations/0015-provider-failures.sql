-- Why providers fail: the reason of each attempt, and refused credentials.

alter table task_attempts
  -- Why it came to nothing, at the submit or later; redacted, for operators alone. Null where nothing went wrong.
  add column failure_reason text,
  drop constraint task_attempts_outcome_check,
  add constraint task_attempts_outcome_check check (
    outcome in ('accepted', 'not_delivered', 'busy', 'unauthorized', 'rejected', 'moderated', 'unknown')
  );

-- The breaker is open because the provider refused our credential.
alter table route_health add column is_unauthorized boolean not null default false;
