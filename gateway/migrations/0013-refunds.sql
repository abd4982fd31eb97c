-- Refunds of tasks and metered requests.

alter table ledger_entries
  drop constraint ledger_entries_movement_check,
  add constraint ledger_entries_movement_check
    check (movement in ('top_up', 'grant', 'adjustment', 'expiry', 'hold', 'capture', 'release', 'refund')) not valid;
-- These movements are rare; see ledger_entries_without_task.
create index ledger_entries_of_refunds on only ledger_entries (day, id) where movement = 'refund';

alter table account_movements
  drop constraint account_movements_kind_check,
  add constraint account_movements_kind_check
    check (kind in ('top_up', 'grant', 'adjustment', 'expiry', 'refund')) not valid;

-- What a refund returns money of. The amount is in its movement.
create table refunds (
  id text primary key references account_movements (id),
  -- The day of its ledger entries.
  day date not null,
  -- The task or metered request, and its creation day.
  task_id text not null,
  task_day date not null,
  -- The day of the usage entry of the task or request.
  usage_day date not null
);
create index refunds_by_task on refunds (task_id);
