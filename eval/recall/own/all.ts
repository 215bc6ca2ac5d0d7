import { OWN_ARABIC } from './ar.ts'
import { OWN_ENGLISH } from './en.ts'
import { OWN_DUTCH } from './nl.ts'
import type { OwnSet } from './own.ts'
import { OWN_CHINESE } from './zh.ts'

export const OWN_SETS: readonly OwnSet[] = [OWN_ENGLISH, OWN_DUTCH, OWN_CHINESE, OWN_ARABIC]
