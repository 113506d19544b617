//! JSON schema of `run.json`. A test generates the schema from the types, so the program itself contains no code that
//! generates it. `make docs` writes the schema file, and the test checks that the file is current.

/// The schema as text, which is part of the program.
pub const SCHEMA: &str = include_str!("run.schema.json");

/// Returns the JSON schema of `run.json`.
pub fn schema() -> serde_json::Value {
    serde_json::from_str(SCHEMA).unwrap_or_default()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::borrow::Cow;
    use std::path::Path;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema, schema_for};

    use crate::Buckets;
    use crate::figure::{Figure, Figures};
    use crate::recording::stored::Samples;
    use crate::rundir::form::Written;

    impl<T: Figures> JsonSchema for Figure<T>
    where
        T::Read: JsonSchema,
    {
        fn inline_schema() -> bool {
            T::Read::inline_schema()
        }

        fn schema_name() -> Cow<'static, str> {
            T::Read::schema_name()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            T::Read::json_schema(generator)
        }
    }

    impl<const PART_BITS: u32> JsonSchema for Buckets<PART_BITS> {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            "Buckets".into()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            generator.subschema_for::<Vec<(u16, u64)>>()
        }
    }

    /// Stands for [`crate::Hist`], which another crate defines.
    pub(crate) struct HistText;

    impl JsonSchema for HistText {
        fn schema_name() -> Cow<'static, str> {
            "Hist".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({ "type": "string", "description": "HdrHistogram V2 payload in base64, compressed or not; values in nanoseconds" })
        }
    }

    impl JsonSchema for Samples {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            "Samples".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            let numbers = serde_json::json!({ "type": "array", "items": { "type": ["number", "null"] } });
            json_schema!({
                "description": "One difference for all samples, one for each sample, or the values themselves",
                "anyOf": [
                    { "type": ["number", "null"] },
                    numbers,
                    { "type": "object", "properties": { "values": numbers }, "required": ["values"] },
                ]
            })
        }
    }

    /// `make docs` sets LOADLINE_WRITE_SCHEMA. If LOADLINE_WRITE_SCHEMA is set, the test writes the schema file before
    /// it compares the file with the types.
    #[test]
    fn the_schema_file_matches_the_types() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/run.schema.json");
        let made = format!("{:#}\n", schema_for!(Written<'static>).to_value());
        if std::env::var_os("LOADLINE_WRITE_SCHEMA").is_some() {
            std::fs::write(&file, &made).unwrap();
        }
        let kept = std::fs::read_to_string(&file).unwrap();
        let differs = kept.lines().zip(made.lines()).find(|(kept, made)| kept != made);
        assert!(
            kept == made,
            "{} is not current: `make docs` writes it; the first line that differs: {differs:?}",
            file.display()
        );
    }
}
