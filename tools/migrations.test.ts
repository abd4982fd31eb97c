import { describe, expect, test } from 'vitest'

import cli from '../cli/package.json' with { type: 'json' }
import {
  changedMigrations,
  dangersIn,
  readChecksums,
  readMigrations,
  repeatedNumbers,
  withNewChecksums,
} from './migration-rules.ts'

describe('the migrations of this version', () => {
  test('no recorded migration was changed or removed', () => {
    expect(changedMigrations(readChecksums(), readMigrations())).toEqual([])
  })

  test('no two migrations have the same number', () => {
    expect(repeatedNumbers(Object.keys(readMigrations()))).toEqual([])
  })

  test.for(Object.entries(readMigrations()))(
    '%s neither breaks nor blocks the previous version',
    ([, text]) => {
      expect(dangersIn(text, cli.version)).toEqual([])
    },
  )
})

describe('recorded migrations', () => {
  const recorded = withNewChecksums({}, { '0001-a.sql': 'select 1;', '0002-b.sql': 'select 2;' })

  test('a new migration is added, and the others stay as they were recorded', () => {
    const migrations = { '0001-a.sql': 'changed', '0002-b.sql': 'select 2;', '0003-c.sql': 'select 3;' }
    const added = withNewChecksums(recorded, migrations)
    expect(Object.keys(added)).toEqual(['0001-a.sql', '0002-b.sql', '0003-c.sql'])
    expect(added).toMatchObject(recorded)
  })

  test('a changed and a removed migration are found, with what to do', () => {
    expect(changedMigrations(recorded, { '0001-a.sql': 'select 1; ' })).toEqual([
      expect.stringMatching(/^0001-a\.sql was changed\. .* put the change into a new migration/),
      expect.stringMatching(/^0002-b\.sql was removed\. /),
    ])
  })

  test('two migrations with one number are found', () => {
    expect(repeatedNumbers(['0001-a.sql', '0002-b.sql', '0002-c.sql'])).toEqual([
      '0002: 0002-b.sql, 0002-c.sql',
    ])
  })
})

describe('dangers', () => {
  test.for([
    ['drop table plans;', 'drops something'],
    ['drop function notify_key_change;', 'drops something'],
    ['drop index keys_by_account;', 'drops something'],
    ['-- no transaction\ndrop index concurrently if exists keys_by_account;', 'drops something'],
    ["alter type kind rename value 'a' to 'b';", 'renames something'],
    ['truncate plans;', 'deletes rows'],
    ['alter table plans rename to tariffs;', 'renames something'],
    ['alter table plans rename column name to title;', 'renames something'],
    ['alter table plans drop column name;', 'drops a column'],
    ['ALTER TABLE plans\n  ADD note text,\n  DROP name;', 'drops a column'],
    ['alter table plans drop constraint plans_name_key;', 'drops a constraint'],
    ['alter table plans alter column cycle_days type bigint;', 'changes the type'],
    ['alter table plans alter cycle_days set data type bigint;', 'changes the type'],
    ['alter table plans alter column note set not null;', 'requires a value'],
    ['alter table plans alter column created_at drop default;', 'requires a value'],
    ['alter table plans add column note text not null;', 'adds a required column'],
    [
      "alter table if exists only public.plans add note text not null check (note <> '');",
      'adds a required column',
    ],
    ['alter table plans add column token uuid default gen_random_uuid();', 'rewrites the table'],
    ['alter table plans add constraint days check (cycle_days < 400);', 'blocks writes while all rows'],
    ['alter table plans add unique (name);', 'blocks writes while all rows'],
    ['create index plans_by_days on plans (cycle_days);', 'blocks writes while the index'],
    ['create unique index on public.plans (name);', 'blocks writes while the index'],
    ['update plans set name = lower(name);', 'changes many rows'],
    ['delete from plans;', 'changes many rows'],
    ['create index concurrently plans_by_days on plans (cycle_days);', 'only statements with `concurrently`'],
    ['-- no transaction\nalter table plans add column note text;', 'only statements with `concurrently`'],
  ])('%s', ([text = '', danger]) => {
    expect(dangersIn(text, '0.2.0')).toEqual([expect.stringContaining(danger ?? '')])
  })

  test.for([
    'create table notes (id uuid primary key, text text not null); create index notes_by_text on notes (text);',
    'create table notes (id uuid); insert into notes select id from plans; update notes set id = null;',
    'alter table plans add column note text;',
    "alter table plans add column note text not null default '', add column at timestamptz not null default now();",
    'alter table plans drop constraint plans_check, add constraint plans_check check (cycle_days >= 0) not valid;',
    'alter table plans validate constraint plans_check;',
    'alter table plans alter column note drop not null;',
    'create index video_tasks_by_model on only video_tasks (model);',
    '-- no transaction\ndrop index concurrently if exists a;\ncreate index concurrently a on plans (cycle_days);\n',
    'create function f() returns trigger language plpgsql as $$ begin delete from plans; drop table plans; end $$;',
    "comment on table plans is 'drop table plans;'; -- drop table plans;",
  ])('allowed: %s', (text) => {
    expect(dangersIn(text, '0.2.0')).toEqual([])
  })

  test('a header that names an earlier release allows to drop what that release no longer uses', () => {
    const text = (version: string) =>
      `-- unused since ${version}: read from settings\nalter table plans drop column name;`
    expect(dangersIn(text('0.1.0'), '0.2.0')).toEqual([])
    expect(dangersIn(text('0.9.0'), '0.10.0')).toEqual([])
    expect(dangersIn(text('0.2.0'), '0.2.0')).toEqual([
      expect.stringContaining('Version 0.2.0 is not released before 0.2.0; wait for the next release.'),
    ])
  })

  test('each header allows its own kind of danger only', () => {
    const both = 'alter table plans drop column name; update plans set cycle_days = 30;'
    expect(dangersIn(`-- safe: a plan is a row per tariff\n${both}`, '0.2.0')).toEqual([
      expect.stringContaining('drops a column'),
    ])
    expect(dangersIn(`-- unused since 0.1.0: read from settings\n${both}`, '0.2.0')).toEqual([
      expect.stringContaining('changes many rows'),
    ])
  })
})
