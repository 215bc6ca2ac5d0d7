// Every way we know in which a database is unsafe to run on. Each case gets a database of its own.

import type { ProgramName } from '../world/process.ts'

export interface DatabaseCase {
  name: string
  program: ProgramName
  /** Who connects; the program's own login unless told. */
  role?: string
  /** As the superuser, one call each. */
  breaks(database: string): string[]
  /** For what is set on the whole server. */
  mends?: string[]
  reasons: RegExp[]
}

export function databaseCases(): DatabaseCase[] {
  return (['daemon', 'management'] as const).flatMap((program): DatabaseCase[] => [
    {
      name: 'a superuser role',
      program,
      role: 'postgres',
      breaks: () => [],
      reasons: [/the role postgres is superuser/],
    },
    {
      name: 'a role that bypasses row-level security',
      program,
      role: `loci_bypass_${program}`,
      breaks: (database) => [
        `create role loci_bypass_${program} login bypassrls in role loci_${program}`,
        `grant connect on database ${database} to loci_bypass_${program}`,
      ],
      reasons: [/is bypassrls/],
    },
    {
      name: 'the owner of the tables',
      program,
      role: `loci_${program}_owner`,
      breaks: () => [],
      reasons: [/connects as loci_\w+_owner, which owns the tables/],
    },
    {
      name: 'a member of the owner',
      program,
      role: `loci_member_${program}`,
      breaks: (database) => [
        `create role loci_member_${program} login in role loci_${program}, loci_owner`,
        `grant connect on database ${database} to loci_member_${program}`,
      ],
      reasons: [/is a member of loci_owner/],
    },
    {
      name: 'a login that opens a database of the other program',
      program,
      role: `loci_both_${program}`,
      breaks: (database) => [
        `create role loci_both_${program} login in role loci_app`,
        `grant connect on database ${database}, ${program === 'daemon' ? 'loci_control' : 'loci_cell'} to loci_both_${program}`,
      ],
      reasons: [/may also connect to loci_(control|cell), which belongs to another program/],
    },
    {
      name: 'row-level security off on loci.audit',
      program,
      breaks: () => ['alter table loci.audit disable row level security'],
      reasons: [/the table loci\.audit is not closed/],
    },
    {
      name: 'row-level security not forced on loci.audit',
      program,
      breaks: () => ['alter table loci.audit no force row level security'],
      reasons: [/the table loci\.audit is not closed/],
    },
    {
      name: 'a new table without row-level security',
      program,
      breaks: () => ['create table loci.forgotten (id int primary key)'],
      reasons: [/the table loci\.forgotten is not closed/],
    },
    {
      name: 'a right to truncate',
      program,
      breaks: () => ['grant truncate on loci.audit to loci_app'],
      reasons: [/may truncate.*audit/],
    },
    {
      name: 'a schema that is newer than this code serves',
      program,
      breaks: () => [
        `insert into loci.migrations (version, name, checksum, serves)
         select max(version) + 1, 'from-the-future', 'x', max(version) + 1 from loci.migrations`,
      ],
      reasons: [/start a newer release/],
    },
    {
      name: 'synchronous_commit=off',
      program,
      breaks: (database) => [`alter database ${database} set synchronous_commit = off`],
      reasons: [/synchronous_commit is off/],
    },
    {
      name: 'synchronous_commit=local',
      program,
      breaks: (database) => [`alter role loci_${program} in database ${database} set synchronous_commit = local`],
      reasons: [/synchronous_commit is local/],
    },
    ...['fsync', 'full_page_writes'].map((name) => ({
      name: `${name}=off`,
      program,
      breaks: () => [`alter system set ${name} = off`, 'select pg_reload_conf()', `select pg_sleep(0.3)`],
      mends: [`alter system reset ${name}`, 'select pg_reload_conf()', `select pg_sleep(0.3)`],
      reasons: [new RegExp(`${name} is off`)],
    })),
  ])
}
