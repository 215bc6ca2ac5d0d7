import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normaliseDump } from './schema/dump.ts'

test('a dump loses its banner, settings, keys and blank runs', () => {
  const dump = [
    '--',
    '-- PostgreSQL database dump',
    '--',
    '',
    '\\restrict aB3',
    '-- Dumped by pg_dump version 15.18',
    '',
    'SET statement_timeout = 0;',
    "SELECT pg_catalog.set_config('search_path', '', false);",
    '',
    '',
    'CREATE TABLE loci.a (',
    '    id integer NOT NULL',
    ');',
    '',
    '',
    '',
    'GRANT SELECT ON TABLE loci.a TO loci_app;',
    '',
    '\\unrestrict aB3',
    '',
  ].join('\n')

  const expected = 'CREATE TABLE loci.a (\n    id integer NOT NULL\n);\n\nGRANT SELECT ON TABLE loci.a TO loci_app;\n'
  assert.equal(normaliseDump(dump), expected)
})

test('a dump loses its functions and who may call them, and nothing else', () => {
  const dump = [
    'CREATE TYPE loci.t AS (',
    '\ta text',
    ');',
    '',
    'CREATE FUNCTION loci.f() RETURNS void',
    '    LANGUAGE plpgsql',
    '    AS $_$',
    '-- why;',
    'CREATE TABLE loci.not_one ();',
    '$$ inner $$;',
    '$_$;',
    '',
    'CREATE FUNCTION loci.g() RETURNS int LANGUAGE sql AS $$ select 1 $$;',
    '',
    "COMMENT ON FUNCTION loci.f() IS 'why';",
    'REVOKE ALL ON FUNCTION loci.f() FROM PUBLIC;',
    'GRANT ALL ON FUNCTION loci.f() TO loci_app;',
    'GRANT SELECT ON TABLE loci.a TO loci_app;',
    '',
  ].join('\n')

  const expected = 'CREATE TYPE loci.t AS (\n\ta text\n);\n\nGRANT SELECT ON TABLE loci.a TO loci_app;\n'
  assert.equal(normaliseDump(dump), expected)
})
