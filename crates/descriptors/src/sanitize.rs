//! Reduces untrusted descriptors to the parts that encoding needs, and checks the conditions that the library
//! `prost_reflect` requires but does not check. The code removes options, default values, extensions and source
//! positions, so the library does not interpret them. All names must be protobuf identifiers, so loadline can print
//! them safely.

use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, EnumOptions, FieldDescriptorProto, FieldOptions, FileDescriptorProto,
    MessageOptions,
};

use crate::error::{TypesError, words};
use crate::graph::{Files, visible};

/// Returns the file `name` of a set, reduced to the parts that encoding needs. In the result, the file imports each
/// publicly imported file directly.
pub(crate) fn reduced(files: &Files, name: &str) -> Result<FileDescriptorProto, TypesError> {
    let Some(file) = files.get(name) else { return Ok(FileDescriptorProto::default()) };
    // The library panics if `syntax` has any other value.
    if !["", "proto2", "proto3"].contains(&file.syntax()) {
        let why = "is neither proto2 nor proto3 (an edition of protobuf?), which loadline reads; give the encoded message \
                   by --body";
        return Err(TypesError::Unusable(format!("{:?} {why}", words(name))));
    }
    let names = file.package().split('.').filter(|name| !name.is_empty());
    names.into_iter().try_for_each(check_name)?;
    let mut file = FileDescriptorProto {
        dependency: visible(files, file),
        public_dependency: Vec::new(),
        weak_dependency: Vec::new(),
        extension: Vec::new(),
        syntax: file.syntax.clone().filter(|syntax| !syntax.is_empty()),
        options: None,
        source_code_info: None,
        ..file.clone()
    };
    file.message_type.iter_mut().try_for_each(reduce_message)?;
    file.enum_type.iter_mut().try_for_each(reduce_enum)?;
    for service in &mut file.service {
        check_name(service.name())?;
        service.options = None;
        for method in &mut service.method {
            check_name(method.name())?;
            method.options = None;
        }
    }
    Ok(file)
}

/// Removes everything that encoding does not need from a message type and from its nested types. This function calls
/// itself for nested types. The decoder limits the depth of nested types, and so also the depth of these calls.
fn reduce_message(message: &mut DescriptorProto) -> Result<(), TypesError> {
    check_name(message.name())?;
    let is_map_entry = message.options.as_ref().is_some_and(|options| options.map_entry());
    if is_map_entry && !has_fields_of_a_map(message) {
        return Err(TypesError::Unusable(format!("the map entry {:?} is malformed", words(message.name()))));
    }
    message.options = is_map_entry.then(|| MessageOptions { map_entry: Some(true), ..MessageOptions::default() });
    message.extension.clear();
    message.extension_range.clear();
    message.field.iter_mut().try_for_each(reduce_field)?;
    message.oneof_decl.iter_mut().for_each(|oneof| oneof.options = None);
    message.enum_type.iter_mut().try_for_each(reduce_enum)?;
    message.nested_type.iter_mut().try_for_each(reduce_message)
}

fn reduce_field(field: &mut FieldDescriptorProto) -> Result<(), TypesError> {
    check_name(field.name())?;
    let packed = field.options.as_ref().and_then(|options| options.packed);
    field.options = packed.map(|packed| FieldOptions { packed: Some(packed), ..FieldOptions::default() });
    field.default_value = None;
    Ok(())
}

fn reduce_enum(kind: &mut EnumDescriptorProto) -> Result<(), TypesError> {
    check_name(kind.name())?;
    let allows_alias = kind.options.as_ref().is_some_and(|options| options.allow_alias());
    kind.options = allows_alias.then(|| EnumOptions { allow_alias: Some(true), ..EnumOptions::default() });
    kind.value.iter_mut().try_for_each(|value| {
        value.options = None;
        check_name(value.name())
    })
}

/// Fails if a name is not a protobuf identifier (ASCII letters, digits and underscores).
fn check_name(name: &str) -> Result<(), TypesError> {
    let is_right = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_right { Ok(()) } else { Err(TypesError::Unusable(format!("the name {:?} is no identifier", words(name)))) }
}

/// Returns true if a map entry has exactly two fields: a key whose type protobuf allows for keys, and a value.
fn has_fields_of_a_map(message: &DescriptorProto) -> bool {
    let is_single = |field: &FieldDescriptorProto| field.label() != Label::Repeated && field.oneof_index.is_none();
    let [one, other] = &message.field[..] else { return false };
    let (key, value) = if one.number() == 1 { (one, other) } else { (other, one) };
    let no_key = [Type::Double, Type::Float, Type::Bytes, Type::Message, Type::Group, Type::Enum];
    let is_typed = key.type_name.is_none() && !no_key.contains(&key.r#type());
    [(key, 1, "key"), (value, 2, "value")]
        .iter()
        .all(|(field, number, name)| field.number() == *number && field.name() == *name && is_single(field))
        && is_typed
}
