import type { ActorNames, Cue, IndexItem, Language, RecordText } from './item.ts'

export declare function analyseItem(record: RecordText, language: Language): IndexItem
export declare function analyseCue(text: string, language: Language, actors: ActorNames): Cue
export declare function actorNames(actors: Iterable<string>, language: Language): ActorNames
