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

test('the body of a function is left as it is', () => {
  const body = 'CREATE FUNCTION loci.f() RETURNS void AS $_$\n-- why\n\n\nSET local_a = 1;\n$$ inner $$\n$_$;\n'
  assert.equal(normaliseDump(body), body)
})
