-- What every amount of the instance is in; null until the first process starts.

alter table instance_settings add column currency text check (currency ~ '^[A-Z]{3}$');
