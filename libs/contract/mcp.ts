// The tools of /mcp. Definitions are read by models with every request, so each word costs: all of
// them together have at most 6 KB (a test counts).

import { z } from 'zod'

/** A JSON-RPC message or several; the protocol's own library parses it. */
export const mcpMessage = z.unknown()

const label = z.string().min(1).max(256)
const tags = z.array(label).max(64).optional()

export const MCP_TOOLS = {
  recall: {
    description:
      'Search long-term memory. Returns the memories that best answer the query, best first, or says that nothing fits.',
    input: z.object({
      query: z.string().min(1).max(8_192).describe('A question or topic, in plain words.'),
      limit: z.int().min(1).max(200).optional().describe('Default 10.'),
      tags: tags.describe('Only memories that have all of them.'),
      max_tokens: z.int().min(1).max(1_000_000).optional().describe('Bound on the size of all results.'),
    }),
  },
  remember: {
    description:
      'Store one fact, preference or event in long-term memory. Write a whole sentence with names and dates.',
    input: z.object({
      text: z.string().min(1).max(16_384),
      tags,
      replaces: label.optional().describe('Id of a memory that this one corrects; it is no longer recalled.'),
    }),
  },
  forget: {
    description: 'Erase a memory for good; it cannot be undone, and the same content is not learned again.',
    input: z.object({ id: label.describe('Id from recall.'), reason: z.string().min(1).max(1_024) }),
  },
  working_memory: {
    description: 'Show what is in working memory now, strongest first, and optionally what was pushed out and why.',
    input: z.object({ include_evicted: z.boolean().optional() }),
  },
  focus: {
    description: 'Put the current task or goal into working memory, in place of the former one.',
    input: z.object({
      text: z.string().min(1).max(8_192),
      ttl_minutes: z.int().min(1).max(10_080).optional().describe('Default 30.'),
    }),
  },
  rank_tools: {
    description: 'Advise which tool to use next for a task, from what worked before.',
    input: z.object({
      task_class: label,
      task_intent: z.string().min(1).max(8_192).describe('What is to be done, in plain words.'),
      candidates: z.array(label).max(500).optional().describe('Tools to choose from. Default: all known.'),
    }),
  },
  run_cycle: {
    description:
      'Run a cognitive cycle: takes in what happened, decides what working memory holds, says what matters now.',
    input: z.object({ focus: z.string().min(1).max(8_192).optional() }),
  },
} as const

export type McpTool = keyof typeof MCP_TOOLS
export type McpAsked<Tool extends McpTool> = z.infer<(typeof MCP_TOOLS)[Tool]['input']>
