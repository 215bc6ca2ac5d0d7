import { OWN_ARABIC } from './ar.ts'
import { OWN_GERMAN } from './de.ts'
import { OWN_ENGLISH } from './en.ts'
import { OWN_SPANISH } from './es.ts'
import { OWN_DUTCH } from './nl.ts'
import type { OwnSet } from './own.ts'
import { OWN_CHINESE } from './zh.ts'

export const OWN_SETS: readonly OwnSet[] = [OWN_ENGLISH, OWN_DUTCH, OWN_CHINESE, OWN_ARABIC]

/** Languages whose tables are small (latin.ts). The thresholds of `npm run eval -- recall` are not measured on them. */
export const OWN_SMALL_SETS: readonly OwnSet[] = [OWN_SPANISH, OWN_GERMAN]
