-- What archived ledger entries sum up to by month, so that the statements of archived months do not change.
create table statement_sums (
  account_id uuid not null,
  wallet text not null,
  -- The first day of the month (UTC) in which the entries were recorded.
  month date not null,
  movement text not null,
  -- Of captures: the model, and the unit of its quantity. Empty for other movements.
  model text not null,
  unit text not null,
  -- Movements, the change of the balance with held amounts, and the change of the held amount.
  movements bigint not null,
  balance_micros bigint not null,
  held_micros bigint not null,
  quantity numeric not null,
  primary key (account_id, wallet, month, movement, model, unit)
);

-- False for archives from before statements existed: nothing is known about the months of their entries.
alter table ledger_archives add column has_statement_sums boolean not null default false;
